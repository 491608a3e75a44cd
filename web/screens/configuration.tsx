// The file in force, and what it was before.
import { Screen } from "../components/screen.tsx";
import { Empty } from "../components/states.tsx";

export const Configuration = () => (
  <Screen title="Configuration" about="The file in force, and what it was before">
    <Empty title="Nothing to see yet" />
  </Screen>
);
