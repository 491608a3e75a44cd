// How much a figure grew over its readings, by the straight line that fits them best. Pure.

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
