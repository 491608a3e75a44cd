// Where one listens, as a URL; an IPv6 address stands in brackets.
export const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
