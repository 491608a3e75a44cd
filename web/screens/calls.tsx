// Slow and failed calls as they happen.
import { Screen } from "../components/screen.tsx";
import { Empty } from "../components/states.tsx";

export const Calls = () => (
  <Screen title="Calls" about="Slow and failed calls as they happen">
    <Empty title="Nothing to see yet" />
  </Screen>
);
