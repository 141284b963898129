// Questions to the server, which is this page's own.

async function answer(response) {
  const content = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) throw new Error(content.error ?? `the server answered ${response.status}`);
  return content;
}

export const get = async (name, parameters = {}) =>
  answer(await fetch(`api/${name}?${new URLSearchParams(parameters)}`));

export const post = async (name, question, signal) =>
  answer(await fetch(`api/${name}`, { method: "POST", body: JSON.stringify(question), signal }));
