#!/bin/bash
# Sixteen workers of one run: sbatch slurm.sh web.yaml /scratch/$USER/runs/web
# Add or remove workers at any time: the same command again, with another --array.
#SBATCH --job-name=mill
#SBATCH --array=0-15
#SBATCH --cpus-per-task=32
#SBATCH --mem=64G
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --signal=B:TERM@90
#SBATCH --output=mill-%A_%a.log
set -u

recipe=${1:?the recipe, in YAML}
run=${2:?the folder of the run: a path that all nodes see, or a URL}

# Kernels are compiled once for each kind of processor; a folder that all nodes see serves all of them.
export CORPUSMILL_CACHE=${CORPUSMILL_CACHE:-$HOME/.cache/corpusmill}

# 90 s before the time limit, and when the job is preempted. Set before the worker is there, so that none is lost.
asked=
trap 'asked=yes; kill -TERM "$!"' TERM
corpusmill work "$recipe" --folder "$run" \
    --index $((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN)) --of "$SLURM_ARRAY_TASK_COUNT" &
worker=$!
wait "$worker"
status=$?
while kill -0 "$worker" 2>/dev/null; do # the trap has ended the first wait
    wait "$worker"
    status=$?
done

# 75: it was asked to end, and has given back what it had. Where it ended while the trap was run, bash does not know.
if [ "$status" -eq 75 ] || { [ -n "$asked" ] && [ "$status" -ne 0 ]; }; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}"
    status=75
fi
exit "$status"
