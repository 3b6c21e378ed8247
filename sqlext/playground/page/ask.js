// Asks the server, whose address has the token of this page.

export async function ask(question, asked) {
  const response = await fetch(new URL(`ask/${question}`, location.href.split('#')[0]), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(asked),
  });
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
