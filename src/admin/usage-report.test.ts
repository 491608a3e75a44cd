import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { scriptedAdmin } from "../../test/support/scripted-admin.ts";

let admin: Awaited<ReturnType<typeof scriptedAdmin>>;
beforeEach(async () => {
  admin = await scriptedAdmin();
});
afterEach(() => admin.close());

describe("the usage report", () => {
  const written = async () => {
    for (const day of ["1970-01-01", "1970-01-02"]) {
      const text = JSON.stringify({ "eth-mainnet": { eth_call: [3, 15, 900] } });
      for (const key of ["app", "other"])
        await admin.state.update([`usage ${day} ${key} member`], () => [text]);
    }
    return admin;
  };

  it.each([
    { query: "", rows: 2 }, // the default range: this month until today
    { query: "?to=1970-01-31", rows: 4 },
    { query: "?to=1970-01-31&key=app", rows: 2 },
    { query: "?to=1970-01-31&network=none", rows: 0 },
    { query: "?from=1970-01-02&to=1970-01-02", rows: 2 },
  ])("of /usage$query has $rows rows", async ({ query, rows }) => {
    const { ask } = await written();
    const report = (await ask("GET", `/usage${query}`)).json as { rows: object[]; total: object };
    expect(report.rows).toHaveLength(rows);
    expect(report.total).toMatchObject({ calls: rows * 3, computeUnits: rows * 15 });
  });

  it("has at most 50,000 rows, but sums of more", async () => {
    const { ask, state } = admin;
    const methods = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`m${at}`, [1]]));
    const text = JSON.stringify({ "eth-mainnet": methods });
    for (const key of ["a", "b", "c", "d", "e"])
      await state.update([`usage 1970-01-01 ${key} member`], () => [text]);
    const { status, text: why } = await ask("GET", "/usage");
    expect([status, why]).toEqual([422, expect.stringContaining("rows: more than 50000")]);
    const sums = (await ask("GET", "/usage?rows=none")).json as { rows: object[]; total: object };
    expect(sums.rows).toEqual([]);
    expect(sums.total).toMatchObject({ calls: 50_005 });
  });

  it("is read by one request of an operator at a time, and few may wait", async () => {
    const { ask, state, logged } = await written();
    let [running, most] = [0, 0];
    const list = state.list.bind(state);
    Object.assign(state, {
      list: async (prefix: string) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise(setImmediate);
        running -= 1;
        return list(prefix);
      },
    });
    const paths = ["/usage", "/keys/app/usage"];
    const all = Array.from({ length: 20 }, (_, at) => ask("GET", paths[at % 2] ?? ""));
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    expect(most).toBe(1);
    expect(statuses.filter((status) => status === 200)).toHaveLength(8);
    expect(statuses.filter((status) => status === 429)).toHaveLength(12);
    expect(logged).toContainEqual({ refused: "reads" });
    expect((await ask("GET", "/audit")).status).toBe(200);
  });

  it("of one key has nothing of others", async () => {
    const { ask } = await written();
    const { rows } = (await ask("GET", "/keys/app/usage")).json as { rows: { key: string }[] };
    expect(rows.map(({ key }) => key)).toEqual(["app"]);
  });

  it("of one key by hour has each of the last 48", async () => {
    const { ask, state, clock } = admin;
    const counts = { all: { "00": [3, 15], "01": [1, 2, 0, 0, 1, 4] } };
    for (const member of ["a-0", "a-1"])
      await state.add([{ key: `usage hours 1970-01-01 app ${member}`, counts }], {
        ...{ slot: member, number: 1, keptMs: 1 },
      });
    await clock.advance(3_600_000 - clock.wallTime());
    const path = "/keys/app/usage/hours";
    const { hours } = (await ask("GET", path)).json as { hours: { at: string }[] };
    expect(hours).toHaveLength(48);
    expect(hours.slice(-2)).toMatchObject([
      { at: "1970-01-01T00:00:00.000Z", calls: 6, computeUnits: 30, errors: 0, refused: 0 },
      { at: "1970-01-01T01:00:00.000Z", calls: 2, computeUnits: 4, errors: 2, refused: 8 },
    ]);
    expect(hours[45]).toMatchObject({ at: "1969-12-31T23:00:00.000Z", calls: 0 });
  });

  it.each([
    { query: "?format=csv", accept: "*/*", type: "text/csv" },
    { query: "", accept: "text/csv", type: "text/csv" },
    { query: "?format=json", accept: "text/csv", type: "application/json" },
    { query: "", accept: "text/csv, application/json", type: "application/json" },
    { query: "", accept: "*/*", type: "application/json" },
  ])("of /usage$query, Accept $accept, is $type", async ({ query, accept, type }) => {
    const { ask } = await written();
    const { headers, text } = await ask("GET", `/usage${query}`, { headers: { accept } });
    expect(headers.get("content-type")?.split(";")[0]).toBe(type);
    if (type === "text/csv")
      expect(text).toMatch(/^day,key,network,method,calls,.*\r\n1970-01-01,app,/);
  });

  it.each([
    { query: "?from=yesterday", mistake: "from: want a UTC day such as 2026-11-21" },
    {
      query: "?from=1970-01-02",
      mistake: "from: 1970-01-02 is after 1970-01-01, the last day asked for",
    },
    { query: "?format=xml", mistake: "format: expected json or csv" },
    { query: "?form=1970-01-02", mistake: /form/ },
  ])("of /usage$query is refused", async ({ query, mistake }) => {
    const { ask } = admin;
    const { mistakes } = (await ask("GET", `/usage${query}`)).json as { mistakes: string[] };
    expect(mistakes).toEqual([
      typeof mistake === "string" ? mistake : expect.stringMatching(mistake),
    ]);
  });
});
