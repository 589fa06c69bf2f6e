import type { Connection, Edge, FinalConnectionState, HandleType } from "@xyflow/react";
import { useMemo } from "react";
import type { CanvasProps } from "./canvasProps";

type Start = { nodeId: string | null; handleId: string | null; handleType: HandleType | null };

/** What happens while a connection is drawn, always by the same functions. */
export function useConnecting({ judge, onDragPort, onLoose }: CanvasProps) {
  return useMemo(() => {
    let why: string | undefined;
    return {
      judge: (connection: Connection | Edge) => {
        why = judge(connection as Connection) ?? undefined;
        return why === undefined;
      },
      start: (_: unknown, { nodeId, handleId, handleType }: Start) => {
        why = undefined;
        const port = nodeId && handleId && handleType;
        onDragPort(port ? { node: nodeId, handle: handleId, type: handleType } : null);
      },
      end: (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
        if (state.isValid) onDragPort(null);
        // A line that ends on no port: what was said of a port before is past.
        else onLoose(event, state.toHandle ? why : undefined);
      },
    };
  }, [judge, onDragPort, onLoose]);
}
