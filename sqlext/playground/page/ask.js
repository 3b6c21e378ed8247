// Asks the server, whose address has the token of this page.

export const ask = (question, asked) => post(`ask/${question}`, 'application/json', JSON.stringify(asked));

/** Gives the server the rows of a file, or of a text. */
export const giveRows = (name, content) => post(`rows/${encodeURIComponent(name)}`, 'application/octet-stream', content);

async function post(path, type, body) {
  const response = await fetch(new URL(path, location.href.split('#')[0]), { method: 'POST', headers: { 'Content-Type': type }, body });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/**
 * A function that asks one question at a time: while one is open, only the last of the others waits.
 * `done(answer, asked)` receives each answer.
 */
export function latest(question, done, failed) {
  let isOpen = false;
  let waiting = null;
  const next = async (asked) => {
    isOpen = true;
    try {
      done(await ask(question, asked), asked);
    } catch (error) {
      failed(error);
    }
    isOpen = false;
    if (waiting !== null) {
      const then = waiting;
      waiting = null;
      next(then);
    }
  };
  return (asked) => {
    if (isOpen) waiting = asked;
    else next(asked);
  };
}
