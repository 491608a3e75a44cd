// Renders the chart where there is no helm, with what Debian has: Go's templates, and sprig's and Kubernetes' libraries, of which Helm is
// made. Only what the chart uses; `npm run check:deploy` runs it as
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go run render.go <chart> <values.yaml> <version of Kubernetes>
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type object = map[string]interface{}

// Of the chart's folder, as templates see them.
type files struct{ folder string }

func (f files) Get(name string) string {
	text, err := os.ReadFile(filepath.Join(f.folder, name))
	if err != nil {
		return ""
	}
	return string(text)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func read(path string) object {
	text, err := os.ReadFile(path)
	fail(err)
	values := object{}
	fail(yaml.Unmarshal(text, &values))
	return values
}

// As Helm merges them: maps are joined, and null takes away.
func merge(under object, over object) object {
	for key, value := range over {
		below, isBelow := under[key].(object)
		above, isAbove := value.(object)
		if value == nil {
			delete(under, key)
		} else if isBelow && isAbove {
			under[key] = merge(below, above)
		} else {
			under[key] = value
		}
	}
	return under
}

func functions(all *template.Template) template.FuncMap {
	funcs := sprig.TxtFuncMap()
	delete(funcs, "env")
	delete(funcs, "expandenv")
	funcs["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	funcs["fromYaml"] = func(text string) (object, error) {
		value := object{}
		return value, yaml.Unmarshal([]byte(text), &value)
	}
	funcs["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	funcs["required"] = func(why string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, fmt.Errorf("%s", why)
		}
		return value, nil
	}
	return funcs
}

func main() {
	chart, given, version := os.Args[1], os.Args[2], os.Args[3]
	facts := object{}
	for key, value := range read(filepath.Join(chart, "Chart.yaml")) {
		facts[strings.ToUpper(key[:1])+key[1:]] = value
	}
	values := merge(read(filepath.Join(chart, "values.yaml")), read(given))
	// Whole numbers are no int here either: what is written without toYaml looks as Helm writes it.
	var plain object
	text, err := json.Marshal(values)
	fail(err)
	fail(json.Unmarshal(text, &plain))
	data := object{
		"Chart": facts, "Values": plain, "Files": files{chart},
		"Release":      object{"Name": "prod", "Namespace": "default", "Service": "Helm", "IsInstall": true, "IsUpgrade": false, "Revision": 1},
		"Capabilities": object{"KubeVersion": object{"Version": "v" + version}},
	}
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	fail(err)
	sort.Strings(paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		fail(err)
		_, err = all.New(filepath.Base(path)).Parse(string(text))
		fail(err)
	}
	for _, path := range paths {
		var text bytes.Buffer
		fail(all.ExecuteTemplate(&text, filepath.Base(path), data))
		if strings.HasSuffix(path, ".yaml") {
			fmt.Println("---\n" + strings.ReplaceAll(text.String(), "<no value>", ""))
		}
	}
}
