package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nullops/nullops/internal/durable"
)

// clusterName is the file in the agent's data folder with the id of its cluster.
const clusterName = "cluster"

// checkCluster remembers the first cluster that an agent works with, and refuses any other: with a
// kubeconfig of another one, its deployments would seem to be gone, and would be made there anew
// without their data.
func checkCluster(disk durable.FS, data, id string) error {
	path := filepath.Join(data, clusterName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = durable.WriteFile(disk, path, []byte(id+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember the cluster: %w", err)
	}
	known := strings.TrimSpace(string(text))
	if known == "" || known == id {
		return nil
	}
	return fmt.Errorf("setting agent.kubernetes.kubeconfig: it leads to another cluster (%s) than "+
		"the one that this agent works with (%s), and nothing was created there: set the kubeconfig "+
		"of that one, and add a new cluster as a node of its own; if that one is gone for good, "+
		"remove %s, and the deployments are made anew without their data", id, known, path)
}
