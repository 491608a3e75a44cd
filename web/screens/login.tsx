// Asks for a token of the admin API, once: a cookie that no script can read stands for it from then on.
import { useState } from "preact/hooks";
import type { AdminSession } from "../../src/admin/schemas.ts";
import { Field } from "../components/field.tsx";
import { problemOf, useApp } from "../lib/app.ts";

export function Login() {
  const { api, session } = useApp();
  const [token, setToken] = useState("");
  const [mistake, setMistake] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const logIn = async (): Promise<void> => {
    setBusy(true);
    try {
      session.set(
        await api.ask<AdminSession>("POST", "session", { body: { token: token.trim() } }),
      );
    } catch (error) {
      const { status, message } = problemOf(error);
      setMistake(status === 401 ? "This token is not known here." : message);
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) void logIn();
        }}
      >
        <h1>
          <span class="mark" aria-hidden="true" />
          Headgate
        </h1>
        <Field
          label="Token"
          type="password"
          value={token}
          onInput={setToken}
          note="admin.token of the configuration, or one of admin.tokens"
          mistake={mistake}
          isRequired
          autocomplete="current-password"
        />
        <button type="submit" class="primary" aria-disabled={isBusy}>
          {isBusy ? "Logging in …" : "Log in"}
        </button>
      </form>
    </main>
  );
}
