package pipeline

// Context is what a run knows about its deployment: the scope of
// ${{ deployment.* }}, ${{ services.* }} and ${{ input.* }} references.
type Context struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Environment string `json:"environment"`
	Project     string `json:"project"`
	// Domain is the suffix of the deployment's hosts, without a leading dot.
	Domain string `json:"domain"`
	// URLs holds, by service step, the address people open.
	URLs map[StepKey]string `json:"urls,omitempty"`
	// Input has a value for each ${{ input.* }} reference.
	Input map[string]any `json:"input,omitempty"`
}
