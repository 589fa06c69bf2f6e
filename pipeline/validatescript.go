package pipeline

import "strings"

// checkScript checks what can be checked without an interpreter; the code that saves the pipeline
// asks one about the source.
func (v *validator) checkScript(s *ScriptStep) {
	switch {
	case strings.TrimSpace(s.Source) == "":
		v.addProblem("script.source", "required", "the script is empty; begin it with "+
			"export default ({parameters}) => { … }")
	case len(s.Source) > MaxScript:
		v.addProblem("script.source", "too_long", "%d bytes; %d are the most", len(s.Source), MaxScript)
	case strings.Contains(s.Source, "\x00"):
		v.addProblem("script.source", "nul", "the source holds a NUL character")
	}
	if s.TimeoutSeconds < 0 || s.TimeoutSeconds > MaxScriptSeconds {
		v.addProblem("script.timeout_seconds", "range", "%d seconds; give 1 to %d, or 0 for the usual %d",
			s.TimeoutSeconds, MaxScriptSeconds, DefaultScriptSeconds)
	}
	v.checkTree("script.parameters", s.Parameters)
	for _, text := range appendTexts(nil, s.Parameters) {
		t, err := Parse(text)
		if err != nil {
			continue
		}
		for _, ref := range t.Refs() {
			if v.isSecret(ref) {
				v.addProblem("script.parameters", "secret", "${{ %s }} is secret; give it to the script "+
					"under secrets, where everybody sees that the script reads it", ref)
			}
		}
	}
	for _, name := range sortedKeys(s.Secrets) {
		field := "script.secrets." + name
		if !matchesExpression(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`, name) {
			v.addProblem(field, "name", "%q must be 1 to 64 of a-z, A-Z, 0-9 and _, and not start with "+
				"a digit, so that the script can write secrets.NAME", name)
		}
		v.checkSecretReference(field, s.Secrets[name])
	}
	if kind, given := s.Outputs["type"]; given && kind != "object" {
		v.addProblem("script.outputs", "type", "the outputs are an object; write \"type\": \"object\"")
	}
}

// checkSecretReference refuses a secret that is written down.
func (v *validator) checkSecretReference(field, text string) {
	t, err := Parse(text)
	if err == nil && len(t.Refs()) == 0 {
		v.addProblem(field, "reference", "a secret does not stand in a pipeline; give a reference, "+
			"such as ${{ secrets.NAME }}")
	}
	v.checkText(field, text)
}

// checkScriptCount bounds how many processes a save starts.
func (v *validator) checkScriptCount() {
	n := 0
	for _, s := range v.p.Steps {
		if s.Script != nil {
			n++
		}
	}
	if n > MaxScripts {
		v.addProblem("steps", "too_many", "%d scripts; %d are the most", n, MaxScripts)
	}
}
