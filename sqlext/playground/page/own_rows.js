// Rows of one's own: a file that is opened, dropped or pasted, or the text of rows that is pasted outside of the editor.

import { $ } from './elements.js';

const MOST = 16 * 2 ** 20; // bytes of CSV and JSON that the server reads, and a little more, so that it knows of more
const IS_WHOLE = /\.parquet$/i; // a format that cannot be read in parts

/** `take(name, content)` receives the rows. */
export function acceptRows(take) {
  const takeFile = (file) => file && take(file.name, IS_WHOLE.test(file.name) ? file : file.slice(0, MOST + 2));
  $('open').addEventListener('click', () => $('file').click());
  $('file').addEventListener('change', () => {
    takeFile($('file').files[0]);
    $('file').value = ''; // the same file may be chosen again
  });
  for (const [event, isOver] of [['dragover', true], ['dragleave', false], ['drop', false]]) {
    document.addEventListener(event, (dragged) => {
      if (!dragged.dataTransfer?.types.includes('Files')) return;
      dragged.preventDefault();
      document.body.classList.toggle('is-over', isOver);
    });
  }
  document.addEventListener('drop', (dropped) => takeFile(dropped.dataTransfer?.files[0]));
  document.addEventListener('paste', (pasted) => {
    const { files } = pasted.clipboardData;
    const text = pasted.clipboardData.getData('text/plain');
    const isRows = pasted.target !== $('text') && text.trim().includes('\n');
    if (!files.length && !isRows) return;
    pasted.preventDefault();
    if (files.length) takeFile(files[0]);
    else take('pasted', text.trimStart());
  });
}
