// The present screen, from the address behind `#`: `#/nodes?network=main`.
import { useEffect, useState } from "preact/hooks";

export type Route = { readonly screen: string; readonly query: URLSearchParams };

function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { screen: path, query: new URLSearchParams(query) };
}

/** @param query Members that are undefined or empty are left out of the address. */
export function hrefOf(
  screen: string,
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter(([, value]) => value) as [string, string][];
  const text = new URLSearchParams(given).toString();
  return `#/${screen}${text && `?${text}`}`;
}

export function useRoute(): Route {
  const [hash, show] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => show(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return routeOf(hash);
}
