package pipeline_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/previoustest"
	"github.com/nullops/nullops/pipeline"
)

// previousPipeline is what the previous release made of a pipeline.
type previousPipeline struct {
	Format  int             `json:"format"`
	Encoded json.RawMessage `json:"encoded"`
	Digest  string          `json:"digest"`
}

// Stored pipelines of every format keep their canonical form, and so their digest: otherwise an
// upgrade would make every deployment look as if it ran another version.
func TestDecode_KeepsPreviousForms(t *testing.T) {
	if previoustest.IsRecording() {
		recordPipelines(t)
		return
	}
	var all []previousPipeline
	previoustest.ReadJSON(t, "pipelines.json", &all)
	formats := map[int]bool{}
	for _, was := range all {
		p, err := pipeline.Decode(was.Encoded)
		if err != nil {
			t.Errorf("format %d: %v", was.Format, err)
			continue
		}
		encoded, err := pipeline.Encode(p)
		digest, failed := pipeline.Digest(p)
		// promise: R-03
		if err != nil || failed != nil || string(encoded) != string(was.Encoded) ||
			digest != was.Digest || p.Format != was.Format {
			t.Errorf("format %d became %d, %s, digest %s; it was %s, digest %s", was.Format, p.Format,
				encoded, digest, was.Encoded, was.Digest)
		}
		formats[was.Format] = true
	}
	if len(formats) < 4 {
		t.Errorf("the fixtures have the formats %v only", formats)
	}
}

// recordPipelines writes one pipeline for each format, with every field that a step can have.
func recordPipelines(t *testing.T) {
	t.Helper()
	var full pipeline.Pipeline
	previoustest.Fill(&full)
	step := full.Steps[0]
	service := pipeline.Step{Key: step.Key, Needs: step.Needs, Service: step.Service}
	var all []previousPipeline
	for _, p := range []pipeline.Pipeline{
		{Steps: []pipeline.Step{service, {Key: "plugin", Plugin: step.Plugin},
			{Key: "approval", Approval: step.Approval}}},
		{Steps: []pipeline.Step{service, {Key: "job", Job: step.Job}}},
		{Steps: []pipeline.Step{service, {Key: "script", Script: step.Script}}},
		full,
	} {
		encoded, err := pipeline.Encode(p)
		digest, failed := pipeline.Digest(p)
		if err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		all = append(all, previousPipeline{pipeline.FormatOf(p), encoded, digest})
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	previoustest.Record(t, "pipelines.json", append(data, '\n'))
}

// A pipeline of a newer release is refused, with the formats that this one reads.
func TestDecode_RefusesNewerFormat(t *testing.T) {
	_, err := pipeline.Decode([]byte(`{"format":99,"steps":[]}`))
	if err == nil || !strings.Contains(err.Error(), "format 99 is unknown; this build reads 1 to") {
		t.Errorf("got %v", err)
	}
}
