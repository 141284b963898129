// Questions to the server, which is this page's own.

async function answer(response) {
  const said = await response.json().catch(() => ({ error: `the server says ${response.status}` }));
  if (!response.ok) throw new Error(said.error ?? `the server says ${response.status}`);
  return said;
}

export const get = async (name, parameters = {}) =>
  answer(await fetch(`api/${name}?${new URLSearchParams(parameters)}`));

export const post = async (name, question, signal) =>
  answer(await fetch(`api/${name}`, { method: "POST", body: JSON.stringify(question), signal }));
