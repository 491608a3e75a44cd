// Runs the tests of each file in a random order, by the run's seed. Vitest's own setting would apply to all projects.
import { inject, type SerializedConfig, TestRunner } from "vitest";

// biome-ignore lint/style/noDefaultExport: vitest takes the default export.
export default class ShuffledRunner extends TestRunner {
  constructor(config: SerializedConfig) {
    Object.assign(config.sequence, { shuffle: true, seed: inject("seed") });
    super(config);
  }
}
