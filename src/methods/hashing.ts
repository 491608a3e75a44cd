// web3_sha3, computed here: no node is asked.
import { keccak256OfData } from "../evm/keccak.ts";
import { data, hash } from "../evm/values.ts";
import { defineMethod } from "./method.ts";

export const hashingMethods = [
  defineMethod({
    name: "web3_sha3",
    group: "other",
    isSpecified: true,
    family: "any",
    summary: "The Keccak-256 of the given data, not the standardised SHA3-256.",
    cost: 1,
    params: { data },
    result: hash,
    freshness: "forever",
    badParamsStatus: 400, // the specification declares HTTP 400 for this method
    answer: (args) => `"${keccak256OfData(args.data)}"`,
  }),
];
