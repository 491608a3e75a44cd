// The growth of a figure over its readings. Pure.

/** The mean, and the growth of the straight line that fits the readings best. */
export function growthOf(readings: readonly number[]): { mean: number; growth: number } {
  const count = Math.max(1, readings.length);
  const mean = readings.reduce((sum, reading) => sum + reading, 0) / count;
  const middle = (count - 1) / 2;
  let covariance = 0;
  let variance = 0;
  for (const [at, reading] of readings.entries()) {
    covariance += (at - middle) * (reading - mean);
    variance += (at - middle) ** 2;
  }
  return { mean, growth: variance === 0 ? 0 : (covariance / variance) * (count - 1) };
}

/** The means of `size` consecutive readings each; an incomplete rest is left out. */
export function meansOf(readings: readonly number[], size: number): number[] {
  const count = Math.floor(readings.length / size);
  return Array.from({ length: count }, (_, index) =>
    readings.slice(index * size, (index + 1) * size).reduce((sum, each) => sum + each / size, 0),
  );
}
