// RUN: tierup-opt %s --tierup-custom-passes | FileCheck %s
// RUN: tierup-opt %s --load-passes=%S/Inputs/rename_functions.py --tierup-custom-passes="when=pre-fusion" | FileCheck %s --check-prefix=LOADED
// RUN: tierup-opt %s --load-passes=%S/Inputs/rename_functions.py --tierup-custom-passes="when=pre-fusion" --tierup-custom-passes="when=pre-fusion" | FileCheck %s --check-prefix=LOADED
// RUN: tierup-opt %s --load-passes=%S/Inputs/rename_functions.py --tierup-custom-passes | FileCheck %s
// RUN: tierup-opt %s --load-passes=%S/Inputs/rename_functions.py --rename-functions="to=h" | FileCheck %s --check-prefix=ALONE
// RUN: tierup-opt %s --split-input-file --verify-diagnostics --tierup-custom-passes="when=now"

// Nothing is registered, or nothing for this place: nothing happens.
// CHECK: func.func @f()
// LOADED: func.func @g()
// ALONE: func.func @h()
// expected-error@+1 {{'when' is pre-fusion or post-fusion, not 'now'}}
module {
  func.func @f() {
    return
  }
}
