// Starts `sqlext lsp` for SQL, for Python, and for cells of notebooks.
const { workspace } = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = () => {
  const [command, ...args] = workspace.getConfiguration('sqlext').get('command');
  const documentSelector = [{ language: 'sql' }, { language: 'python' }];
  client = new LanguageClient('sqlext', 'sqlext', { command, args }, { documentSelector });
  return client.start();
};

exports.deactivate = () => client && client.stop();
