package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nullops/nullops/plugins/stdio"
)

func (c *checkRun) checkLaterFields(ctx context.Context) error {
	if err := c.undoBeforeCreate(ctx); err != nil {
		return err
	}
	r := c.newRequest(stdio.ActionCreate)
	r["a_field_of_a_later_version"] = map[string]any{"list": []any{1, "two"}}
	r["deployment"] = map[string]any{"id": "0", "name": "conformance", "later": true}
	r["services"] = map[string]any{"db": map[string]any{"host": "db", "port": 5432, "later": 1}}
	return c.runCreate(ctx, r)
}

func (c *checkRun) checkBareCreate(ctx context.Context) error {
	if err := c.undoBeforeCreate(ctx); err != nil {
		return err
	}
	return c.runCreate(ctx, c.newRequest(stdio.ActionCreate, "parameters", "secrets"))
}

// undoBeforeCreate undoes before a create that may not be repeated.
func (c *checkRun) undoBeforeCreate(ctx context.Context) error {
	if c.Component.Idempotent || c.outputs == nil || !c.Component.Offers(stdio.ActionDelete) {
		return nil
	}
	return c.checkDelete(ctx)
}

// checkOptionalParameters leaves out every parameter that the schema does not require. The
// defaults may lead nowhere here, so any proper answer will do.
func (c *checkRun) checkOptionalParameters(ctx context.Context) error {
	var schema struct {
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(c.Component.Parameters, &schema); err != nil {
		return fmt.Errorf("component.json: parameters: %w", err)
	}
	given, _ := c.Create["parameters"].(map[string]any)
	kept := maps.Clone(given)
	maps.DeleteFunc(kept, func(name string, _ any) bool {
		return !slices.Contains(schema.Required, name)
	})
	if len(kept) == len(given) {
		return skipped("the recorded create has no optional parameters")
	}
	if err := c.undoBeforeCreate(ctx); err != nil {
		return err
	}
	r := c.newRequest(stdio.ActionCreate)
	r["parameters"] = kept
	answer, err := c.runRequest(ctx, r)
	switch {
	case err != nil:
		return err
	case !answer.Success && strings.TrimSpace(answer.Output) == "":
		return errors.New("it fails without saying why in output")
	case answer.Success && c.Component.Offers(stdio.ActionDelete):
		// What defaults made, defaults remove.
		r = maps.Clone(r)
		r["action"], r["outputs"] = string(stdio.ActionDelete), answer.Outputs
		_, err = c.runSuccessfully(ctx, r)
	}
	return err
}

func (c *checkRun) checkRepeatedCreate(ctx context.Context) error {
	if !c.Component.Idempotent {
		return skipped("it is not declared idempotent")
	}
	if err := c.checkCreate(ctx); err != nil {
		return err
	}
	return c.checkCreate(ctx)
}

func (c *checkRun) checkDelete(ctx context.Context) error {
	if !c.Component.Offers(stdio.ActionDelete) {
		return skipped("it does not offer delete")
	}
	r := c.newRequest(stdio.ActionDelete)
	if c.outputs != nil {
		r["outputs"] = c.outputs
	}
	_, err := c.runSuccessfully(ctx, r)
	return err
}

// checkFindsCreated runs the check action twice: it must find what create made, and change
// nothing.
func (c *checkRun) checkFindsCreated(ctx context.Context) error {
	if _, err := c.runSuccessfully(ctx, c.checkRequest()); err != nil {
		return err
	}
	_, err := c.runSuccessfully(ctx, c.checkRequest())
	return err
}

func (c *checkRun) checkMissesDeleted(ctx context.Context) error {
	if !c.Component.Offers(stdio.ActionDelete) {
		return skipped("it does not offer delete")
	}
	return c.expectRefusal(c.checkRequest())(ctx)
}

// checkRequest is a check of what the last create made.
func (c *checkRun) checkRequest() map[string]any {
	r := c.newRequest(stdio.ActionCheck)
	if c.outputs != nil {
		r["outputs"] = c.outputs
	}
	return r
}

// removeBlind is the delete after a create whose answer never arrived.
func (c *checkRun) removeBlind(ctx context.Context) error {
	if !c.Component.Offers(stdio.ActionDelete) {
		return skipped("it does not offer delete")
	}
	_, err := c.runSuccessfully(ctx, c.newRequest(stdio.ActionDelete))
	return err
}

func (c *checkRun) createAndRemove(ctx context.Context) error {
	if !c.Component.Offers(stdio.ActionDelete) {
		return skipped("it does not offer delete")
	}
	if err := c.checkCreate(ctx); err != nil {
		return err
	}
	return c.checkDelete(ctx)
}

// checkStops sends SIGTERM shortly after the start. A plugin that has ended by then passes.
// One that has to be killed fails, since it may have been interrupted at any point; what it
// has created is removed.
func (c *checkRun) checkStops(ctx context.Context) error {
	input, err := json.Marshal(c.newRequest(stdio.ActionCreate))
	if err != nil {
		return &runError{err}
	}
	ran, err := c.runAndStop(ctx, input)
	if err != nil {
		return &runError{err}
	}
	const killed = 137
	if ran.ExitCode == killed {
		return errors.New("it ignores SIGTERM and has to be killed")
	}
	if !c.Component.Offers(stdio.ActionDelete) {
		return nil
	}
	return c.removeBlind(ctx)
}

// runAndStop runs the plugin and asks it to stop. On a slow machine the time may be
// over before the container has started, which is an error; then it gets more.
func (c *checkRun) runAndStop(ctx context.Context, input []byte) (RunResult, error) {
	for after := stopAfter; ; after *= 3 {
		soon, cancel := context.WithTimeout(ctx, after)
		ran, err := c.Run(soon, input)
		early := err != nil && soon.Err() != nil && ctx.Err() == nil
		cancel()
		if !early || after > maxStopAfter {
			return ran, err
		}
	}
}

// recordLeaks searches for secrets in everything that people can read.
func (c *checkRun) recordLeaks(request map[string]any, answer stdio.Response, ran RunResult) {
	given, _ := request["secrets"].(map[string]any)
	secrets := map[string]string{}
	for name, value := range given {
		if text, is := value.(string); is {
			secrets["secret "+name] = text
		}
	}
	hidden := c.hiddenOutputs()
	shown := maps.Clone(answer.Outputs)
	for name, value := range answer.Outputs {
		if !hidden[name] {
			continue
		}
		delete(shown, name)
		if text, is := value.(string); is {
			secrets["secret output "+name] = text
		}
	}
	open, _ := json.Marshal(shown) // it came from JSON
	places := map[string]string{
		"the log": strings.Join(ran.Log, "\n"), "output": answer.Output,
		"outputs that are not writeOnly": string(open), "metadata": metadataText(answer),
	}
	for what, secret := range secrets {
		for where, text := range places {
			// Shorter ones occur by accident.
			if len(secret) >= 6 && strings.Contains(text, secret) {
				c.leaks = append(c.leaks, what+" is in "+where)
			}
		}
	}
}

func metadataText(r stdio.Response) string {
	var b strings.Builder
	for _, m := range r.Metadata {
		b.WriteString(m.Name + "\n" + m.Value + "\n")
	}
	return b.String()
}

// hiddenOutputs are the outputs that the component marks as secret.
func (c *checkRun) hiddenOutputs() map[string]bool {
	var schema struct {
		Properties map[string]struct {
			WriteOnly bool `json:"writeOnly"`
		} `json:"properties"`
	}
	// A schema that cannot be read hides nothing, which is the strict side.
	_ = json.Unmarshal(c.Component.Outputs, &schema)
	hidden := map[string]bool{}
	for name, property := range schema.Properties {
		hidden[name] = property.WriteOnly
	}
	return hidden
}

func (c *checkRun) checkNoLeaks(context.Context) error {
	if len(c.leaks) == 0 {
		return nil
	}
	slices.Sort(c.leaks)
	return errors.New(strings.Join(slices.Compact(c.leaks), "; "))
}
