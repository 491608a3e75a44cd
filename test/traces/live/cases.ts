// All transactions whose traces are compared with their execution by ethereumjs.
import { callCases } from "./call-cases.ts";
import type { Case } from "./case.ts";
import { creatingCases } from "./creating-cases.ts";
import { delegationCases } from "./delegation-cases.ts";
import { failingCases } from "./failing-cases.ts";
import { generatedCases } from "./generated-cases.ts";
import { stateCases } from "./state-cases.ts";

/** @param byChance The number of random contracts. */
export const casesWith = (byChance: number): readonly Case[] => [
  ...callCases,
  ...stateCases,
  ...creatingCases,
  ...delegationCases,
  ...generatedCases(byChance),
  ...failingCases,
];
