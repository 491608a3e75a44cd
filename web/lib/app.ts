// The shared parts of all screens, by `useApp()`: the gateway, its events, the operator's session, and short notices.
import { createContext } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";
import type { AdminSession } from "../../src/admin/schemas.ts";
import { type Api, ApiProblem } from "./api.ts";
import type { History } from "./history.ts";
import type { Live } from "./live.ts";
import type { Platform } from "./platform.ts";
import { type Store, useStore } from "./store.ts";

export type Notice = { readonly text: string; readonly tone: "good" | "bad" };

type Operator = NonNullable<AdminSession["operator"]>;
/**
 * `undefined`: not known yet. `ended`: the operator whose session has ended; the filled-in fields are there again after
 * this operator has logged in again.
 */
export type SessionState = { readonly operator?: Operator; readonly ended?: Operator } | undefined;

export type App = {
  readonly platform: Platform;
  readonly api: Api;
  readonly session: Store<SessionState>;
  readonly live: Store<Live>;
  readonly history: History;
  readonly notices: Store<readonly Notice[]>;
  /** Shows a notice for some seconds, also to screen readers. */
  readonly notify: (text: string, tone?: Notice["tone"]) => void;
};

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
  const app = useContext(AppContext);
  if (!app) throw new Error("the component is not inside AppContext");
  return app;
}

export const useLive = (): Live => useStore(useApp().live);

type Role = Operator["role"];
const ROLES: readonly Role[] = ["read", "keys", "all"];

/** Whether the operator's role includes `needed`. Screens hide other actions; the gateway refuses them anyhow. */
export function useMay(needed: Role): boolean {
  const who = useStore(useApp().session);
  const role = (who?.operator ?? who?.ended)?.role;
  return role !== undefined && ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

export type Resource<Value> = {
  readonly value: Value | undefined;
  readonly problem: ApiProblem | undefined;
  readonly isLoading: boolean;
  /** Requests the resource again; the present value stays until the answer is there. */
  readonly reload: () => void;
};

type Asked<Value> = Omit<Resource<Value>, "reload"> & { readonly path: string };

/** Loads a route's JSON answer. @param path Relative, such as `keys`; another path causes another request. */
export function useResource<Value>(path: string): Resource<Value> {
  const { api } = useApp();
  const [asked, ask] = useState(0);
  const [state, show] = useState<Asked<Value>>({ ...LOADING, path });
  useEffect(() => {
    const ending = new AbortController();
    show((past) => ({ ...past, isLoading: true }));
    api.ask<Value>("GET", path, { signal: ending.signal }).then(
      (value) =>
        ending.signal.aborted || show({ path, value, problem: undefined, isLoading: false }),
      (error: unknown) =>
        ending.signal.aborted ||
        show((past) => ({
          path,
          // A value of another path is not shown under this path.
          value: past.path === path ? past.value : undefined,
          problem: problemOf(error),
          isLoading: false,
        })),
    );
    return () => ending.abort();
  }, [api, path, asked]);
  const reload = useCallback(() => ask((times) => times + 1), []);
  return { ...state, reload };
}

const REFRESH_MS = 5_000;

/** Reloads every five seconds while the page is visible. */
export function useRefresh({ reload }: Pick<Resource<unknown>, "reload">): void {
  const { platform } = useApp();
  useEffect(
    () => platform.every(REFRESH_MS, () => document.visibilityState === "visible" && reload()),
    [platform, reload],
  );
}

const LOADING = { value: undefined, problem: undefined, isLoading: true };

/** Any error as a problem that screens can show. */
export const problemOf = (error: unknown): ApiProblem =>
  error instanceof ApiProblem ? error : new ApiProblem(0, String(error), { cause: error });
