import "./styles/main.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { newQueryClient } from "./api/queries/common";
import { traceDeeds } from "./api/trace";
import { Toasts } from "./components/Toast";
import { makeRouter } from "./routes";

traceDeeds();
const queryClient = newQueryClient(() => {
  const { pathname, href } = router.state.location;
  if (pathname === "/sign-in") return;
  queryClient.removeQueries({ queryKey: ["me"] });
  void router.navigate({ to: "/sign-in", search: { next: href } });
});
const router = makeRouter(queryClient);

const place = document.getElementById("root");
if (place)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        {/* The policy allows no style elements; ours are all in files. */}
        <CSPProvider disableStyleElements>
          <Toasts>
            <RouterProvider router={router} />
          </Toasts>
        </CSPProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
