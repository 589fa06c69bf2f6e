import "@/editor/editor.css";
import { useState } from "react";
import PluginForm from "@/editor/inspector/PluginForm";
import { withParameter } from "./testPipeline";

/** The form that steps of the plugin will have, to be tried; what is put in goes nowhere. */
export default function DraftForm({ schema }: { schema: Record<string, unknown> }) {
  const [values, setValues] = useState<Record<string, unknown>>({});
  return (
    <PluginForm
      schema={schema}
      values={values}
      problems={[]}
      offersFor={() => []}
      onChange={(path, value) => setValues(withParameter(values, path, value))}
    />
  );
}
