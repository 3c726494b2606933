import { errorNamed } from "../../infra/local/state-machine.ts";
import { restoreFiles, storedObjects } from "./files.ts";
import { closeFunctions } from "./functions.ts";
import { ledgerNow } from "./ledger.ts";
import { addRequestsAgain, commandsInProgress, confirmedNow } from "./people.ts";
import { judgeCommit, noteRestore } from "./promises.ts";
import { allItems, beginTable } from "./table.ts";
import { runningExecutions } from "./workflow.ts";
import { after, between, chance, faultOf, newTask, outside, pass, say, start } from "./world.ts";

/**
 * An operator restores the table to an earlier point in time, as infra/runbook.md says in "Restore": in a maintenance, with no run in
 * progress. What was stored since is gone, and the operator brings back the files that were deleted since.
 */

/** The longest that a step still runs, and the deployment. */
const maintenanceMs = 15 * 60_000 + 120_000;

/** Remembers all that a restore brings back. Returns a function that restores it. */
const takeSnapshot = (): (() => void) => {
  const [items, files] = [allItems(), new Map(storedObjects())];
  const [forgetFacts, forgetConfirmed] = [ledgerNow(), confirmedNow()];
  return () => {
    beginTable(items, judgeCommit);
    restoreFiles(files);
    forgetFacts();
    forgetConfirmed();
    noteRestore();
  };
};

/**
 * An execution that goes on seals the order by a version that it has read in the former table, whose number may come again: in one of
 * 1,000 schedules, that missed a letter.
 */
const stopExecutions = (): void => {
  for (const execution of runningExecutions()) execution.end("ABORTED", errorNamed("Aborted"));
};

/** Sometimes restores the table, once, while faults still happen. */
export const restoreTable = (): void => {
  const ms = between("restored at", 1_000, 2_400_000);
  let restore = () => {};
  const remember = () => {
    restore = takeSnapshot();
  };
  after(ms * chance("the point in time"), remember, outside);
  start(newTask("restore"), ms, async () => {
    if (!faultOf("table", "it", ["goes back"])) return;
    closeFunctions(true);
    await pass(maintenanceMs);
    while (commandsInProgress() > 0) await pass(1_000);
    stopExecutions();
    say(() => "the table goes back");
    restore();
    closeFunctions(false);
    await addRequestsAgain();
  });
};
