package docker

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

const (
	// gpuTool is NVIDIA's own; it comes with the driver.
	gpuTool = "nvidia-smi"
	// gpuWithin bounds the tool: without persistence mode it first wakes the
	// cards, which takes seconds, and with a broken driver it hangs.
	gpuWithin = 10 * time.Second
	// maxGPUs is more cards than any machine has.
	maxGPUs = 64
	// gpuOutput bounds what is read of the tool.
	gpuOutput = 64 << 10
)

// errNoGPUTool means that the machine has no NVIDIA driver, as most.
var errNoGPUTool = errors.New("no " + gpuTool + " here")

// listGPUs asks NVIDIA's tool for the cards.
func listGPUs(ctx context.Context) ([]wire.GPU, error) {
	path, err := exec.LookPath(gpuTool)
	if err != nil {
		return nil, errNoGPUTool
	}
	ctx, cancel := context.WithTimeout(ctx, gpuWithin)
	defer cancel()
	c := exec.CommandContext(ctx, path,
		"--query-gpu=index,uuid,name,memory.total,driver_version",
		"--format=csv,noheader,nounits")
	// A child of the tool may hold its output open after the tool was killed.
	c.WaitDelay = time.Second
	out, err := c.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%s did not answer within %s", gpuTool, quantity.FormatDuration(gpuWithin))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", gpuTool, err)
	}
	all, bad := parseGPUs(strings.NewReader(string(out[:min(len(out), gpuOutput)])))
	if bad > 0 {
		return all, fmt.Errorf("%s: %d of its lines make no sense", gpuTool, bad)
	}
	return all, nil
}

// parseGPUs reads lines such as "0, GPU-8f1e…, NVIDIA L4, 23034, 550.54.15". A card whose memory is
// unknown, "[N/A]", counts as one with zero memory.
func parseGPUs(r io.Reader) (all []wire.GPU, bad int) {
	lines := csv.NewReader(r)
	lines.FieldsPerRecord, lines.TrimLeadingSpace, lines.LazyQuotes = -1, true, true
	for len(all) < maxGPUs {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return all, bad
		}
		if err != nil {
			return all, bad + 1
		}
		if g, ok := parseGPU(fields); ok {
			all = append(all, g)
		} else {
			bad++
		}
	}
	return all, bad
}

func parseGPU(fields []string) (wire.GPU, bool) {
	if len(fields) < 4 {
		return wire.GPU{}, false
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	index, err := strconv.Atoi(fields[0])
	if err != nil || index < 0 || fields[1] == "" {
		return wire.GPU{}, false
	}
	g := wire.GPU{Index: index, UUID: clipOutput(fields[1]), Model: clipOutput(fields[2])}
	if mib, err := strconv.ParseInt(fields[3], 10, 32); err == nil && mib > 0 {
		g.Memory = mib << 20
	}
	if len(fields) > 4 {
		g.Driver = clipOutput(fields[4])
	}
	return g, true
}

// explainGPUs adds what helps when the engine has no GPUs to hand out. Engines up to 27 look for a
// driver with the capability gpu, newer ones for CDI devices of a vendor that they know.
func explainGPUs(err error, requested *pipeline.GPUs) error {
	text := err.Error()
	if requested == nil || !strings.Contains(text, "could not select device driver") &&
		!strings.Contains(text, "failed to discover GPU vendor") {
		return err
	}
	return fmt.Errorf("%w. The engine of this node has no GPUs to hand out: install the NVIDIA "+
		"Container Toolkit there, then restart the engine", err)
}
