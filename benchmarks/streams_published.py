# SPDX-License-Identifier: Apache-2.0
"""Values that the benchmark of the streams is held against."""

from __future__ import annotations

SCORES = {
    'phishing': {
        'identity': '.8848/.3626/.1031',
        'ops': '.8848/.3648/.1035',
        'tops': '.8824/.3802/.1055',
        'ensemble': '.8848/.3626/.1031',
    },
    'elec2': {
        'identity': '.8114/.5095/.1494',
        'ops': '.8202/.4362/.1359',
        'tops': '.8180/.4437/.1368',
        'ensemble': '.8644/.3537/.1042',
    },
    'bananas': {
        'identity': '.6372/.6665/.2363',
        'ops': '.6304/.6676/.2364',
        'tops': '.6278/.6588/.2308',
        'ensemble': '.5920/.6753/.2405',
    },
    'sea_drift': {
        'identity': '.8748/.2728/.0863',
        'ops': '.9416/.1435/.0430',
        'tops': '.9408/.1561/.0442',
        'ensemble': '.9372/.1561/.0460',
    },
    'agrawal_drift': {
        'identity': '.6370/1.0399/.2820',
        'ops': '.8560/.3513/.1074',
        'tops': '.8552/.3504/.1084',
        'ensemble': '.8296/.3826/.1206',
    },
    'hyperplane': {
        'identity': '.7500/.5256/.1738',
        'ops': '.7488/.5015/.1652',
        'tops': '.7422/.5155/.1681',
        'ensemble': '.7398/.5160/.1712',
    },
    'sine_drift': {
        'identity': '.8578/.5345/.1164',
        'ops': '.8766/.3186/.0984',
        'tops': '.8732/.3316/.0978',
        'ensemble': '.8578/.4387/.1156',
    },
}
"""Accuracy/log-loss/Brier of a method on a stream."""

PARTS = {
    'step size 0.1': '.8348/.4103/.1241',
    'step size 1.0': '.8718/.4657/.1114',
    'averaging': '.8626/.3562/.1050',
    'spring': '.8360/.4048/.1217',
    'auto': '.8348/.4103/.1241',
    'averaging and spring': '.8644/.3537/.1042',
}
"""The same on Elec2 with parts of the step-size ensemble alone."""

CALIBRATION_ERRORS = {
    'bank': {
        'identity': (0.0322, 0.0024),
        'ops': (0.0308, 0.0013),
        'beta': (0.0165, 0.0022),
        'tops': (0.0064, 0.0005),
        'tobs': (0.0082, 0.0007),
        'hops': (0.0184, 0.0022),
        'hobs': (0.0127, 0.0016),
    },
    'credit': {
        'identity': (0.0339, 0.0017),
        'ops': (0.0262, 0.0009),
        'beta': (0.0167, 0.0011),
        'tops': (0.0041, 0.0007),
        'tobs': (0.0048, 0.0006),
        'hops': (0.0207, 0.0019),
        'hobs': (0.0204, 0.0018),
    },
}
"""Mean and standard error over several forests, each on an order of its own."""

TEMPERATURES = {
    'netcal_lenet-5-cifar-10': '1.3736 .1193 .0224',
    'netcal_wideresnet-16-4-cifar-10': '2.0592 .0552 .0069',
    'cifar10_resnet50_logits_aigen': '1.1007 .0164 .0143',
}
"""Temperature, ECE before and after."""
