// One line of JSON per case, which the check reads.
export async function runCases(cases) {
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
      console.log(JSON.stringify({ name, passed: true }));
    } catch (error) {
      console.log(JSON.stringify({ name, passed: false, why: String(error?.stack ?? error).slice(0, 2_000) }));
    }
  }
  process.exit();
}
