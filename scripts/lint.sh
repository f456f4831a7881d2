#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks style and finds mistakes without running anything.
#   scripts/lint.sh [--fix] [--base REF] [PART...]
# PART: format, tidy, shell, python, workflows, packages, spdx, paths, types, rooms, constants, commits;
# default all of them.
# --fix repairs the findings of format, python and spdx. tidy checks the files that changed since
# --base: by default the commit where the branch left origin/main, or the last commit if nothing
# changed since. paths checks that files named in comments and pages exist, types that no two types
# share a name, rooms that folders include only what they may use, constants that Python repeats
# neither constants nor messages of C++, and commits the subjects and files of commits since the
# last tag. packages checks recipes of packages, and that all files name the same version.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
fix=
base=
while [ $# -gt 0 ]; do
    case $1 in
        --fix) fix=1 ;;
        --base) base=${2:?--base takes a commit}; shift ;;
        -*) sed -n '4,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
        *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- format shell python workflows packages spdx paths types rooms constants commits tidy
scripts/install_packages.sh checks

sources() { git ls-files --cached --others --exclude-standard "$@"; }

# Runs a tool that Debian 12 lacks, from an environment with packages of PyPI.
pypi() {
    venv=build/lint-tools
    if ! cmp -s scripts/lint_requirements.txt "$venv/installed.txt"; then
        /usr/bin/python3 -m venv "$venv"
        "$venv/bin/pip" install -q -r scripts/lint_requirements.txt
        cp scripts/lint_requirements.txt "$venv/installed.txt"
    fi
    tool=$1
    shift
    "$venv/bin/$tool" "$@"
}

check_format() {
    sources '*.cpp' '*.hpp' '*.cu' '*.cuh' |
        if [ -n "$fix" ]; then xargs clang-format-14 -i; else xargs clang-format-14 --dry-run -Werror; fi
}

check_shell() {
    sources '*.sh' .ci/run debian/tests/command debian/tests/library | xargs shellcheck
}

check_python() {
    pypi ruff check ${fix:+--fix} .
}

check_workflows() {
    schema() { pypi check-jsonschema -q --builtin-schema "$@"; }
    schema vendor.github-workflows .github/workflows/*.yml
    schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
    schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
    schema vendor.citation-file-format CITATION.cff
    # Also finds expressions that do not exist, and steps that could leak tokens.
    pypi zizmor --offline --quiet --min-severity high --config .github/zizmor.yml .github/workflows
}

check_packages() {
    scripts/version.py --check
    pypi hadolint packaging/docker/Dockerfile
    pypi validate-pyproject pyproject.toml python/napari_convolume/pyproject.toml
    pypi python scripts/check_recipe.py packaging/conda/recipe.yaml
    if command -v dh >/dev/null; then
        make -n -f debian/rules build >/dev/null
    fi
}

check_spdx() {
    scripts/spdx.sh ${fix:+--fix}
}

check_paths() {
    pypi python scripts/check_paths.py
}

check_types() {
    pypi python scripts/check_type_names.py
}

check_rooms() {
    pypi python scripts/check_rooms.py
}

check_constants() {
    pypi python scripts/check_constants.py && pypi python scripts/check_sentences.py
}

# Prints the files that commits of a new method, format or command should leave alone. They touch its
# file or folder, tests, pages, the changelog and lines of CMake (HACKING.md).
foreign_files_of_additions() {
    git log --no-merges --format='%h %s' "$1..HEAD" | while read -r commit subject; do
        case $subject in
            "deconvolve: add method "*) # test_options.py writes its name into a type of Python
                own='deconvolve/methods/|python/convolume/_deconvolve_options\.py$' ;;
            "io: add format "*) own='io/[^/]+/' ;;
            "cli: add command "*) own='cli/[^/]+/' ;;
            *) continue ;;
        esac
        allowed="^($own|tests/|python/tests/|docs/|(CHANGELOG\.md|mkdocs\.yml)$|cmake/|(.*/)?CMakeLists\.txt$)"
        git diff-tree --no-commit-id --name-only -r "$commit" | grep -vE "$allowed" | sed "s/^/$commit: /"
    done
}

# Checks that subjects of commits have at most 72 characters and an area in front: "io: …" or
# "io, cli: …", and that commits of additions touch no other files. It checks the commits since the
# last tag or, without a tag, since the last commit that broke this rule.
check_commits() {
    git rev-parse -q --git-dir >/dev/null 2>&1 || { echo "skipped: this is no git repository"; return; }
    since=$(git describe --tags --abbrev=0 2>/dev/null || echo 9527df5a4660)
    git merge-base --is-ancestor "$since" HEAD 2>/dev/null || {
        echo "skipped: this clone's history does not go back to $since"
        return
    }
    subjects=$(git log --no-merges --format=%s "$since..HEAD")
    wrong=$(echo "$subjects" | LC_ALL=C.UTF-8 grep -vE '^$|^[a-z][a-z0-9_.-]*(, [a-z][a-z0-9_.-]*)*: [^ ]' || true)
    long=$(echo "$subjects" | LC_ALL=C.UTF-8 grep -E '^.{73}' || true)
    [ -z "$wrong" ] || printf '%s\n' "subjects without an area in front:" "$wrong" >&2
    [ -z "$long" ] || printf '%s\n' "subjects of more than 72 characters:" "$long" >&2
    foreign=$(foreign_files_of_additions "$since")
    [ -z "$foreign" ] || printf '%s\n' "files that a new method, format or command should leave alone:" "$foreign" >&2
    [ -z "$wrong$long$foreign" ]
}

# Prints the changed .cpp files, and for each changed header one .cpp file that includes it. Tests and
# benchmarks are left out, as their arithmetic on small integers would cause many warnings.
to_tidy() {
    git diff --name-only --diff-filter=d "$1" -- '*.cpp' ':!tests' ':!bench'
    git diff --name-only --diff-filter=d "$1" -- '*.hpp' ':!tests' ':!bench' | while read -r header; do
        sources '*.cpp' ':!tests' ':!bench' | xargs grep -l "#include [<\"].*$(basename "$header")[>\"]" | head -n 1
    done
}

check_tidy() {
    if [ -z "$base" ]; then
        base=$(git merge-base HEAD origin/main 2>/dev/null || true)
        [ -n "$base" ] && ! git diff --quiet "$base" || base=HEAD~1
    fi
    git rev-parse -q --verify "$base^{commit}" >/dev/null || {
        echo "lint.sh: there is no commit $base to compare with; name one by --base" >&2
        return 1
    }
    files=$(to_tidy "$base" | sort -u)
    [ -n "$files" ] || { echo "no C++ file has changed since $base"; return; }
    scripts/install_packages.sh build tests
    cuda=
    if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
        cuda=-DCONVOLUME_WITH_CUDA=ON
    fi
    cmake --preset debug -B build/lint ${cuda:+"$cuda"} >build/lint.log || {
        cat build/lint.log
        return 1
    }
    for file in $files; do
        grep -q "\"file\": .*/$file\"" build/lint/compile_commands.json ||
            { echo "$file: not in this build, not checked" >&2; continue; }
        echo "$file"
    done | xargs -r -n 1 -P "$(nproc)" clang-tidy-14 --quiet -p build/lint
}

mkdir -p build
failed=
for part in "$@"; do
    case $part in
        format | shell | python | workflows | packages | spdx | paths | types | rooms | constants | commits | tidy) ;;
        *) echo "lint.sh: there is no part '$part'" >&2; exit 2 ;;
    esac
    echo "== $part"
    # The call is not part of a condition, as set -e has no effect there.
    set +e
    (set -e; "check_$part")
    status=$?
    set -e
    [ $status -eq 0 ] || failed="$failed $part"
done
[ -z "$failed" ] || { echo "lint.sh: failed:$failed" >&2; exit 1; }
echo "lint.sh: no complaints"
