// The path of a setting, as a person writes it: `networks.eth-mainnet.upstreams[0].url`.

export type Path = readonly PropertyKey[];

export const pathText = (path: Path): string =>
  path.length === 0 ? "the file" : path.map(stepText).join("").replace(/^\./, "");

function stepText(step: PropertyKey): string {
  if (typeof step === "number") return `[${step}]`;
  const name = String(step);
  // Quoted, so that a name with a line break still makes one line.
  return /^[\w-]{1,64}$/.test(name) ? `.${name}` : `[${JSON.stringify(name.slice(0, 64))}]`;
}
