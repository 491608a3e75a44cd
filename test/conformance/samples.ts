// The recorded samples: answers of real networks.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Recording } from "../support/recorded-node.ts";

export type Sample = Recording & {
  readonly name: string;
  readonly network: string;
  /** Another node may answer other values of the same shape. */
  readonly isSpecOnly: boolean;
};

const folder = fileURLToPath(new URL("../../../shared/samples/", import.meta.url));

export const samplesAvailable = existsSync(folder);

/** Reads the samples that a real node answered, with their calls. */
export function readSamples(): Sample[] {
  if (!samplesAvailable) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map(readSample)
    .filter((sample) => sample !== undefined);
}

type SampleFile = {
  readonly quality: string;
  readonly network: string;
  readonly speconly?: boolean;
  readonly request: { readonly method: string; readonly params: readonly unknown[] } | null;
  readonly response: { readonly result?: unknown; readonly error?: unknown };
};

function readSample(file: string): Sample | undefined {
  const { quality, network, speconly, request, response } = JSON.parse(
    readFileSync(`${folder}${file}`, "utf8"),
  ) as SampleFile;
  if (quality !== "recorded" || !request) return undefined;
  const { method, params } = request;
  const answer = Object.hasOwn(response, "error")
    ? `"error":${JSON.stringify(response.error)}`
    : `"result":${JSON.stringify(response.result)}`;
  const name = file.replace(".json", "");
  return { name, network, isSpecOnly: speconly === true, method, params, answer };
}
