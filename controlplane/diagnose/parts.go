package diagnose

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// partsWithin is how long other processes are waited for: they look every ten seconds.
	partsWithin = 13 * time.Second
	partsPause  = 300 * time.Millisecond
	// agentWithin bounds the question to one agent, agentsAtOnce how many are asked at a time.
	agentWithin  = 8 * time.Second
	agentsAtOnce = 8
	// longestFile is how much of the end of one file is part of an archive.
	longestFile = 4 << 20
)

// source is a process that an archive has a folder of.
type source struct {
	name  string
	files []controlplane.DiagnosisFile
	// missing says why there are no files.
	missing string
}

// addPart adds this process's part to an archive.
func (d *Diagnosis) addPart(ctx context.Context, request string) error {
	part, err := json.Marshal(cutFiles(d.Files()))
	if err != nil {
		return fmt.Errorf("encode the part of this process: %w", err)
	}
	return d.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Diagnosis().AddPart(ctx, request, d.Process, part)
	})
}

func cutFiles(all []controlplane.DiagnosisFile) []controlplane.DiagnosisFile {
	for i, f := range all {
		if n := len(f.Data); n > longestFile {
			all[i].Data = f.Data[n-longestFile:]
		}
	}
	return all
}

// awaitProcesses waits until every process has added its part, and returns what there is then.
func (d *Diagnosis) awaitProcesses(
	ctx context.Context, request string, processes []controlplane.Process,
) (all []source, err error) {
	parts := map[string][]byte{}
	for end := time.Now().Add(partsWithin); ; {
		err = d.Store.Read(ctx, func(tx *postgres.Tx) error {
			parts, err = tx.Diagnosis().ListParts(ctx, request)
			return err
		})
		if err != nil || hasAll(parts, processes) || time.Now().After(end) {
			break
		}
		if err = wait.Sleep(ctx, partsPause); err != nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	for _, p := range processes {
		s := source{name: "processes/" + folderName(p.ID)}
		if part, ok := parts[p.ID]; !ok {
			s.missing = "it added nothing in time"
		} else if err := json.Unmarshal(part, &s.files); err != nil {
			s.missing = "its part cannot be read"
		}
		all = append(all, s)
	}
	return all, nil
}

func hasAll(parts map[string][]byte, processes []controlplane.Process) bool {
	for _, p := range processes {
		if _, ok := parts[p.ID]; !ok {
			return false
		}
	}
	return true
}

// folderName is an id as the name of a folder.
func folderName(id string) string {
	name := []byte(id)
	for i, c := range name {
		if c == '/' || c == '\\' || c == ':' {
			name[i] = '_'
		}
	}
	return string(name)
}

// askAgents asks the agents of nodes for their part, several at a time.
func (d *Diagnosis) askAgents(ctx context.Context, nodes []controlplane.Node) []source {
	all := make([]source, len(nodes))
	var asking sync.WaitGroup
	slots := make(chan struct{}, agentsAtOnce)
	for i, n := range nodes {
		asking.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			all[i] = d.askAgent(ctx, n)
		})
	}
	asking.Wait()
	return all
}

func (d *Diagnosis) askAgent(ctx context.Context, n controlplane.Node) source {
	s := source{name: "nodes/" + folderName(n.Name)}
	if n.Status != controlplane.NodeOnline {
		s.missing = "the node is " + string(n.Status)
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, agentWithin)
	defer cancel()
	files, err := d.Agents.Diagnose(ctx, n.ID)
	if err != nil {
		s.missing = err.Error()
		return s
	}
	s.files = cutFiles(files)
	return s
}
