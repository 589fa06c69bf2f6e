package wire

// PathGiveUp says that a machine of a cluster is gone for good.
const PathGiveUp = "/v1/machines/{machine}/give-up"

// GivenUp answers PathGiveUp.
type GivenUp struct {
	// Services is how many services with volumes start on other machines now.
	Services int `json:"services"`
}
