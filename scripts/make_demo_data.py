#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the demo's recorded data: a classifier says whether a robot can drive on a patch of ground.

The 2 310 patches of the UCI Image Segmentation data are put in random order (seed 0). A Gaussian
naive Bayes classifier learns from the first 210 whether a patch is ground to drive on: cement,
path or grass. It is then frozen and asked about the other 2 100. Each row written is one of its
answers: the probability, the label, the class of the patch.

Needs river, which ships the patches, and scikit-learn:
pip install river==0.26.1 scikit-learn==1.9.1
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

GROUND = frozenset({'cement', 'path', 'grass'})
TRAINING_PATCHES = 210
ROOT = Path(__file__).resolve().parents[1]
OUTPUT = ROOT / 'calib_node' / 'tools' / 'data' / 'traversable_ground.csv'


def answers() -> Iterator[tuple[float, int, str]]:
    """Yield (probability of ground, label, class of the patch) for each patch not trained on."""
    try:
        import numpy as np
        from river.datasets import ImageSegments
        from sklearn.naive_bayes import GaussianNB
    except ImportError as error:
        raise SystemExit(
            'This script needs river and scikit-learn: '
            'pip install river==0.26.1 scikit-learn==1.9.1'
        ) from error

    samples = list(ImageSegments())
    order = np.random.default_rng(0).permutation(len(samples))
    features = np.array([list(samples[i][0].values()) for i in order], dtype=float)
    patches = [samples[i][1] for i in order]
    labels = np.array([int(patch in GROUND) for patch in patches])
    classifier = GaussianNB().fit(features[:TRAINING_PATCHES], labels[:TRAINING_PATCHES])
    probabilities = classifier.predict_proba(features[TRAINING_PATCHES:])[:, 1]
    held_out = slice(TRAINING_PATCHES, None)
    for probability, label, patch in zip(
        probabilities, labels[held_out], patches[held_out], strict=True
    ):
        yield float(probability), int(label), patch


def main() -> None:
    """Write the CSV file."""
    parser = argparse.ArgumentParser(description="Make the demo's recorded data.")
    parser.add_argument(
        'output',
        nargs='?',
        type=Path,
        default=OUTPUT,
        help='file to write (default: the one the package ships)',
    )
    output = parser.parse_args().output
    rows = list(answers())
    with output.open('w', encoding='utf-8', newline='') as file:
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(('probability', 'label', 'patch'))
        writer.writerows((repr(probability), label, patch) for probability, label, patch in rows)
    print(f'{len(rows)} rows written to {output}')


if __name__ == '__main__':
    main()
