package main_test

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// refusesBesideHog fills memory of the machine from a process that NullOps knows nothing of. A
// deployment for which there was room is refused meanwhile, and has room again afterwards.
func refusesBesideHog(t *testing.T, n *node) {
	t.Helper()
	p := n.p
	web := webStep("web")
	ask := func(bytes int64) apiclient.PreflightNode {
		web["service"].(object)["resources"] = object{"cpu": 0.1, "memory_mib": bytes >> 20}
		p.savePipeline(t, "hungry", web)
		var found apiclient.Preflight
		p.admin.want(t, http.StatusOK, http.MethodPost, "/deployments/preflight", hungry(), &found)
		if len(found.Nodes) != 1 {
			t.Fatalf("the nodes that were asked: %+v", found)
		}
		return found.Nodes[0]
	}
	p.admin.put(t, "/projects/hungry", object{"resources": object{"memory_mib": 1 << 22}}, nil)
	// How much is free is told by a refusal only.
	refused := ask(1 << 41)
	if refused.MemoryFree == nil {
		t.Fatalf("2 TiB: %+v", refused)
	}
	free := *refused.MemoryFree
	size := min(free/4, 2<<30)
	wanted := free - size/2
	eventually(t, "there is room without the hog", func() string {
		return textOf(ask(wanted).Reason)
	})
	release := takeMemory(t, size)
	defer release()
	// promise: N-131
	eventually(t, "there is no room beside the hog", func() string {
		if now := ask(wanted); now.Fits || !strings.Contains(textOf(now.Reason), "memory short") {
			return "it fits: " + textOf(now.Reason)
		}
		return ""
	})
	p.admin.expectProblem(t, http.StatusConflict, http.MethodPost, "/deployments", hungry(),
		"memory short")
	release()
	eventually(t, "there is room after the hog", func() string { return textOf(ask(wanted).Reason) })
}

func hungry() object {
	return object{"name": "hungry", "project": "hungry", "environment": "qa"}
}

// takeMemory uses so many bytes of this machine until they are released.
func takeMemory(t *testing.T, size int64) (release func()) {
	t.Helper()
	memory, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatalf("take %d bytes: %v", size, err)
	}
	for i := 0; i < len(memory); i += syscall.Getpagesize() {
		memory[i] = 1
	}
	return func() {
		if memory != nil {
			_ = syscall.Munmap(memory)
		}
		memory = nil
	}
}
