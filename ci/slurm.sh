#!/usr/bin/env bash
# A ready-made Slurm job: 16 searches at once, each with its own seed and its own folder of findings. From the tree:
#   cmake --preset release && cmake --build --preset release --target reshardcheck && sbatch ci/slurm.sh
# SUBJECT, SECONDS_EACH and OUT may be set in the environment.
#SBATCH --job-name=reshardcheck
#SBATCH --array=1-16
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH --time=01:00:00
#SBATCH --output=reshardcheck-%A-%a.log
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-.}"
seed=${SLURM_ARRAY_JOB_ID:-0}$(printf '%03d' "${SLURM_ARRAY_TASK_ID:-1}")
exec build/release/reshardcheck fuzz --subject "${SUBJECT:-reference}" --seconds "${SECONDS_EACH:-3000}" \
  --seed "$seed" --out "${OUT:-findings}/$seed"
