// Ask a method as a key does.
import { Screen } from "../components/screen.tsx";
import { Empty } from "../components/states.tsx";

export const Try = () => (
  <Screen title="Try" about="Ask a method as a key does">
    <Empty title="Nothing to see yet" />
  </Screen>
);
