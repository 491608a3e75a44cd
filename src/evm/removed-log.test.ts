import { expect, it } from "vitest";
import { asRemoved } from "./removed-log.ts";

it.each([
  ['{"data":"0x","removed":false}', '{"data":"0x","removed":true}'],
  ['{"removed": false ,"data":"removed"}', '{"removed": true ,"data":"removed"}'],
  ['{"data":"0x"}', '{"data":"0x","removed":true}'],
  ['{"data":"0x","topics":["}"],"removed":true}', '{"data":"0x","topics":["}"],"removed":true}'],
  ['{"a":{"removed":false}}', '{"a":{"removed":false},"removed":true}'],
])("tells %s as %s", (log, want) => {
  expect(asRemoved(Buffer.from(log)).toString()).toBe(want);
});
