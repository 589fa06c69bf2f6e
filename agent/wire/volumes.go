package wire

import "github.com/nullops/nullops/pipeline"

// Paths for copying the volumes of a deployment whose goal is Still (quiesced). GET
// PathVolumes returns VolumesState; with QueryMeasure it also counts bytes. GET PathVolume
// sends one volume as a tar stream, with the checksum in TrailerSum after it; with
// QueryRunning it does so while the services run, and what they write meanwhile may be
// in the stream, in part or not at all. PUT PathVolume replaces a volume and returns
// VolumeWritten; HeaderAttempt must name the goal's Attempt.
const (
	PathVolumes  = "/v1/deployments/{id}/volumes"
	PathVolume   = "/v1/deployments/{id}/services/{key}/volumes/{name}"
	QueryMeasure = "measure"
	QueryRunning = "running"
	TrailerSum   = "Nullops-Sum"

	HeaderAttempt = "Nullops-Attempt"
)

// VolumesState says how a deployment's volumes are.
type VolumesState struct {
	// Still says that nothing of the deployment runs or is about to, and that its
	// volumes may be read, or written where the goal is Elsewhere.
	Still bool `json:"still"`
	// Bytes is what all of them take, if it was asked for.
	Bytes int64 `json:"bytes,omitempty"`
	// Stopped are services that are never restarted, and ran until they were stopped
	// for this.
	Stopped []pipeline.StepKey `json:"stopped,omitempty"`
}

// VolumeWritten says what was taken in: the SHA-256 of the stream, in hex.
type VolumeWritten struct {
	Sum string `json:"sum"`
}
