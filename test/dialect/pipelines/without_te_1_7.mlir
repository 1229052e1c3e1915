// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=1.7-without-te -o %t.a
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-1.7 --tierup-pipeline=no-grad-1.7-bailouts --tierup-pipeline=final -o %t.b
// RUN: diff %t.a %t.b
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=1.7-without-te-gradients -o %t.c
// RUN: tierup-opt %S/inputs/recorded.mlir --tierup-pipeline=pre-autodiff-1.7 --tierup-pipeline=autodiff-1.7 --tierup-pipeline=diff-graph-bailouts --tierup-pipeline=final -o %t.d
// RUN: diff %t.c %t.d
// From a record to a plan with one flag. What the plans compute: ../traces/test_first_generation_torch.py
