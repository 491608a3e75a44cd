// What each caller may do, and what it did.
import { Screen } from "../components/screen.tsx";
import { Empty } from "../components/states.tsx";

export const Keys = () => (
  <Screen title="Keys" about="What each caller may do, and what it did">
    <Empty title="Nothing to see yet" />
  </Screen>
);
