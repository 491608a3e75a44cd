// Which web origins a key may be used from.

/** `https://*.example.com` covers its subdomains, not itself; `*` covers every origin. */
export function originMatcher(
  patterns: readonly string[],
): (origin: string | undefined) => boolean {
  const tests = patterns.map(testOf);
  return (origin) => origin !== undefined && tests.some((test) => test(origin.toLowerCase()));
}

function testOf(pattern: string): (origin: string) => boolean {
  if (pattern === "*") return () => true;
  const star = pattern.indexOf("*");
  if (star < 0) return (origin) => origin === pattern;
  const before = pattern.slice(0, star);
  const after = pattern.slice(star + 1);
  return (origin) =>
    origin.length > before.length + after.length &&
    origin.startsWith(before) &&
    origin.endsWith(after) &&
    /^[a-z0-9.-]+$/.test(origin.slice(before.length, origin.length - after.length));
}
