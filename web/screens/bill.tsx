// What was used, by key, network and day.
import { Screen } from "../components/screen.tsx";
import { Empty } from "../components/states.tsx";

export const Bill = () => (
  <Screen title="Bill" about="What was used, by key, network and day">
    <Empty title="Nothing to see yet" />
  </Screen>
);
