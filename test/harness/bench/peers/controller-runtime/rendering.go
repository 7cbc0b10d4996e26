package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rendering is what one record becomes: JSON with placeholders in it, as ../../README.md describes.
type rendering struct {
	Format         int        `json:"format"`
	FieldManager   string     `json:"fieldManager"`
	TracingProject template   `json:"tracingProject"`
	Revision       template   `json:"revision"`
	Secrets        []template `json:"secrets"`
	Children       []template `json:"children"`
	Statuses       []template `json:"statuses"`
}

// template is one object of it.
type template struct {
	gvk  schema.GroupVersionKind
	name string
	text string
}

func (t *template) UnmarshalJSON(data []byte) error {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*t = template{gvk: object.GroupVersionKind(), name: object.Name, text: string(data)}
	return nil
}

func loadRendering(path string) (*rendering, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	read := &rendering{}
	if err := json.Unmarshal(data, read); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if read.Format != 1 {
		return nil, fmt.Errorf("%s has format %d; this operator knows 1", path, read.Format)
	}
	return read, nil
}

// status is the template of the status of this kind.
func (r *rendering) status(kind string) template {
	for _, template := range r.Statuses {
		if template.gvk.Kind == kind {
			return template
		}
	}
	panic("the rendering has no status of " + kind)
}

// filling puts the values of one record into templates. None of them has a character that JSON escapes.
type filling map[string]string

func (f filling) fill(text string, more ...string) string {
	pairs := more
	for place, value := range f {
		pairs = append(pairs, "{{"+place+"}}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// stamped fills in the object and the digest by which a later pass knows that exactly this was applied.
func (f filling) stamped(t template) string {
	text := f.fill(t.text)
	sum := sha256.Sum256([]byte(text))
	return strings.ReplaceAll(text, "{{digest}}", hex.EncodeToString(sum[:8]))
}

// into reads a filled template into a new object of its kind.
func into(scheme *runtime.Scheme, t template, text string) (client.Object, error) {
	made, err := scheme.New(t.gvk)
	if err != nil {
		return nil, err
	}
	object := made.(client.Object)
	return object, json.Unmarshal([]byte(text), object)
}
